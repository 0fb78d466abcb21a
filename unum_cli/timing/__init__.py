"""Rows of an execution's steps, and how their time divides; the page and traces show them."""
