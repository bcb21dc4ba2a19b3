"""Pictures and sound: functions around ffmpeg and PyAV. Paths in, values out.

Nothing here knows what a job is. Whatever opens a foreign file does it in a child process
(sandbox.py), so a film that crashes its decoder costs that child and nothing else.
"""
