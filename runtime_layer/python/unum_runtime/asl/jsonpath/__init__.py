"""JSONPath states: paths, payload templates, choice rules, and their order. Source: specification, "JSONPath"."""
