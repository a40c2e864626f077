"""Time travel: laws against brute force, forks, audits."""
