"""Pictures of workflows: layered layout of nested graphs, as SVG or Mermaid text."""
