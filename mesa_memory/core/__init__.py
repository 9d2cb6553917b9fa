"""Plain data and pure logic: what every other room knows, and no one's I/O."""
