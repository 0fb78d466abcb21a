"""Resources that a workflow creates."""
