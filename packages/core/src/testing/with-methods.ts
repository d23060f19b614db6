/** The same object, with some of its methods replaced: such as one that breaks off. */
export function withMethods<Target extends object>(
  target: Target,
  methods: { readonly [Name in keyof Target]?: unknown },
): Target {
  return new Proxy(target, {
    get(_target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });
}
