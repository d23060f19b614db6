/** How the program ends, for scripts. The README and `--help` list them. */
export const EXIT_CODES = {
  ok: 0,
  refused: 1,
  usage: 2,
  unreachable: 3,
  notAuthorised: 4,
  checkFailed: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

export const EXIT_CODES_HELP = `Exit codes:
  0    done
  1    refused by the API (4xx)
  2    wrong usage, or a wrong setting on this machine
  3    not reachable, or a fault of the service (5xx)
  4    not authenticated, or not authorised (401, 403)
  5    a check failed (doctor, verify), or a replay did
  130  interrupted`;
