"""Studies of recall quality over datasets of questions with known evidence."""
