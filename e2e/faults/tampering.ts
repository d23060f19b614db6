/** What is to be done to a process from within. */
export interface Tampering {
  /** Its event loop stands still for so long, from now on. */
  readonly blockMs?: number;
  /** Its clock is off by so much, until further notice. */
  readonly clockMs?: number;
  /** Whether its clocks stop whenever the process does, as those of a virtual machine that is suspended. */
  readonly stopsClocks?: boolean;
}

/** The variable that names the file with it. */
export const TAMPERING_FILE = 'FAULTS_TAMPERING_FILE';
