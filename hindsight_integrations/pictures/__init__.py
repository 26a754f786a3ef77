"""Pictures of a bank and of a recall: SVG, interactive HTML and text, drawn without a server."""
