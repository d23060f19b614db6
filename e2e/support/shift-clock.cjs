// Loaded before a process, whose clock is off by CLOCK_SHIFT_MS then.
const shiftMs = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const now = Date.now.bind(Date);
Date.now = () => now() + shiftMs;
