"""Plain data and pure logic: imported by every other room, without I/O."""
