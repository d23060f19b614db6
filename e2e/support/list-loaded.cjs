// Loaded before a process of ours by `node --require`: on SIGUSR2 it writes which packages are in memory, as a line of the log.
process.on('SIGUSR2', () => {
  const packages = Object.keys(require.cache).flatMap((file) => {
    const [, name] = /node_modules[/\\]((?:@[^/\\]+[/\\])?[^/\\]+)(?!.*node_modules)/.exec(file) ?? [];
    return name === undefined ? [] : [name];
  });
  process.stdout.write(`${JSON.stringify({ message: 'loaded', packages: [...new Set(packages)] })}\n`);
});
