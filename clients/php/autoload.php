<?php

// For projects without Composer: require 'hookferry/autoload.php';
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Hookferry\\')) {
        $file = __DIR__ . '/src/' . substr($class, strlen('Hookferry\\')) . '.php';
        is_file($file) && require $file;
    }
});
