<?php

// php tests/run.php: runs every function whose name begins with test_, and says how many passed.

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/conformance.php';
require __DIR__ . '/receiver.php';

function same(mixed $expected, mixed $found, string $what = ''): void
{
    if ($expected !== $found) {
        $show = fn (mixed $value): string => json_encode($value, JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_UNESCAPED_UNICODE);
        throw new RuntimeException("$what: {$show($found)} instead of {$show($expected)}");
    }
}

/** The reason of the error, or "ok". */
function ending(callable $call): string
{
    try {
        $call();
        return 'ok';
    } catch (Hookferry\VerificationError $error) {
        return $error->reason;
    }
}

[$passed, $failed, $skipped] = [0, 0, 0];
foreach (get_defined_functions()['user'] as $name) {
    if (!str_starts_with($name, 'test_')) {
        continue;
    }
    try {
        $skip = $name();
        $skip === null ? $passed++ : $skipped++;
        echo $skip === null ? '' : "SKIPPED $name: $skip\n";
    } catch (Throwable $error) {
        $failed++;
        echo "FAILED $name: {$error->getMessage()} ({$error->getFile()}:{$error->getLine()})\n";
    }
}
echo "$passed passed, $failed failed, $skipped skipped\n";
exit($failed === 0 ? 0 : 1);
