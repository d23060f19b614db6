/** The result of a check. */
export interface Finding {
  readonly check: string;
  readonly state: 'good' | 'doubtful' | 'bad';
  readonly detail: string;
  /** What to do about it, unless it is good. */
  readonly advice?: string;
}

export const good = (check: string, detail: string): Finding => ({ check, state: 'good', detail });

export const doubtful = (check: string, detail: string, advice: string): Finding => ({
  check,
  state: 'doubtful',
  detail,
  advice,
});

export const bad = (check: string, detail: string, advice: string): Finding => ({
  check,
  state: 'bad',
  detail,
  advice,
});
