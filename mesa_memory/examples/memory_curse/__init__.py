"""A repeated dilemma between two players: does a longer memory end cooperation?"""
