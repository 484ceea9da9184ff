"""Packs: folders of models whose truth is known, to score other people's methods on."""
