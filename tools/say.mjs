// @ts-check

/** As wide as the longest name of a process, so that the lines of all of them form one column. */
const NAME_WIDTH = 8;

/**
 * One line of output, marked with who says it.
 * @param {string} who
 * @param {string} line
 */
export function say(who, line) {
  process.stdout.write(`${who.padEnd(NAME_WIDTH)} | ${line}\n`);
}
