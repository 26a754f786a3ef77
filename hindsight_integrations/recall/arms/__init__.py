"""The four arms of recall: semantic, keyword, entity and temporal search."""
