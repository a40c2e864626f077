"""An account of a journal that can be handed on: who did what and when, and what happened to it.

report      the account itself, as data
collecting  one pass over the log that makes it
quarantined what lies in quarantine/, and which event tells of it
wording     what the engine's own events say, in words
saying      what the account says, the same in Markdown and in HTML
markdown    the account as Markdown
page        the account as one HTML file that needs nothing else
picture     the pictures in it, as SVG
style       how it looks
escaping    words from the log, made harmless

Nothing here folds a state or writes to the journal.
"""
