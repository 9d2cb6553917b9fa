"""The methods text, checklist and report of a study, from the record alone."""
