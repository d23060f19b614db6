// The package has no types, and those of DefinitelyTyped lack `preferred`.
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: { readonly 'accept-encoding'?: string | undefined } });
    encoding<Coding extends string>(
      available: readonly Coding[],
      options: { readonly preferred: readonly Coding[] },
    ): Coding | undefined;
  }
}
