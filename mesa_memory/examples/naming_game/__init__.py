"""A naming game: does a longer memory help people to agree on a name?"""
