"""How well what is asked for is recalled."""
