declare module 'virtual:outcome-texts' {
  /** The documentation's explanation of each outcome. */
  export const outcomeTexts: Readonly<Record<string, string>>;
}
