<?php

require __DIR__ . '/snippet.php';

while (($line = fgets(STDIN)) !== false) {
    $cells = array_map(fn ($cell) => $cell === '-' ? null : $cell, explode("\t", rtrim($line, "\n")));
    [$scheme, $secret, $body] = $cells;
    $verify = ['body' => 'verify_body', 'message' => 'verify_message', 'key' => 'verify_with_key'][$scheme];
    echo $verify($secret, base64_decode($body), ...array_slice($cells, 3)) ? "true\n" : "false\n";
}
