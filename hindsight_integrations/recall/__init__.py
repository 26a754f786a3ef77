"""From a question to the memories that answer it: four arms, fusion, reranking, packing."""
