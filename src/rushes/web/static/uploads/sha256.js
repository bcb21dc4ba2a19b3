// SHA-256 of a file in pieces: the browser's own wants all of it in memory, and a secure context.

const PIECE_BYTES = 1 << 20;
const [BLOCK, LENGTH] = [64, 8]; // bytes of a block, and of the length at the end of the last one

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
const bits = (root) => ((root % 1) * 2 ** 32) | 0;
const ROUNDS = Int32Array.from(primes, (prime) => bits(Math.cbrt(prime)));
const START = Int32Array.from(primes.slice(0, 8), (prime) => bits(Math.sqrt(prime)));

/** The digest in hex; null as soon as `isWanted` says no. The page breathes between two pieces. */
export async function sha256(file, isWanted = () => true) {
  const state = START.slice();
  const whole = file.size - (file.size % BLOCK);
  for (let at = 0; at < whole; at += PIECE_BYTES) {
    if (!isWanted()) return null;
    mixAll(state, await file.slice(at, Math.min(at + PIECE_BYTES, whole)).arrayBuffer());
  }
  mixAll(state, padded(await file.slice(whole).arrayBuffer(), file.size));
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** The rest of a file, a single bit, and how long all of it was. */
function padded(rest, size) {
  const filled = new Uint8Array(rest.byteLength + 1 + LENGTH > BLOCK ? 2 * BLOCK : BLOCK);
  filled.set(new Uint8Array(rest));
  filled[rest.byteLength] = 0x80;
  new DataView(filled.buffer).setBigUint64(filled.length - LENGTH, BigInt(size) * 8n);
  return filled.buffer;
}

function mixAll(state, buffer) {
  const bytes = new DataView(buffer);
  for (let at = 0; at < buffer.byteLength; at += BLOCK) mix(state, bytes, at);
}

const words = new Int32Array(64);
const turned = (word, by) => (word >>> by) | (word << (32 - by));

function mix(state, bytes, at) {
  for (let n = 0; n < 16; n++) words[n] = bytes.getInt32(at + 4 * n);
  for (let n = 16; n < 64; n++) {
    const [early, late] = [words[n - 15], words[n - 2]];
    words[n] = words[n - 16] + words[n - 7] + (turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)) + (turned(late, 17) ^ turned(late, 19) ^ (late >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let n = 0; n < 64; n++) {
    const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[n] + words[n]) | 0;
    const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  for (const [n, word] of [a, b, c, d, e, f, g, h].entries()) state[n] += word;
}
