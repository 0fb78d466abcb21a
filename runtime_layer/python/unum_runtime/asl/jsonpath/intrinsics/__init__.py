"""Intrinsic functions of JSONPath states, such as ``States.Format('{}', $.n)``. Source: specification, Appendix B."""
