"""Recall the memories that answer a question: four arms, fusion, reranking, packing."""
