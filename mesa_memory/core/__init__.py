"""Plain data and pure logic: what every other room knows, and nobody's I/O."""
