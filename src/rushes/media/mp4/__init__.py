"""MP4 as bytes, as far as our own segments use it: boxes, inits, fragments, units of H.264."""
