declare module 'virtual:outcome-texts' {
  /** What the documentation says of each outcome. */
  export const outcomeTexts: Readonly<Record<string, string>>;
}
