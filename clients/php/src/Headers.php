<?php

declare(strict_types=1);

namespace Hookferry;

/** @internal The headers of a request, as getallheaders() or a PSR-7 request gives them. */
final class Headers
{
    /** @param array<string, string|list<string>> $headers names in any case */
    public function __construct(private readonly array $headers)
    {
    }

    /** @throws VerificationError if it came more than once, because either value may be the wrong one */
    public function read(string $name): ?string
    {
        $values = [];
        foreach ($this->headers as $key => $value) {
            if (strcasecmp((string) $key, $name) === 0) {
                array_push($values, ...(array) $value);
            }
        }
        // Proxies join the values by ", ". No value of the service has a comma before white space.
        if (count($values) > 1 || preg_match('/,\s/', $values[0] ?? '') === 1) {
            throw VerificationError::missingHeader(
                strtolower($name),
                'came more than once: check the proxy in front of this server',
            );
        }
        return $values[0] ?? null;
    }

    /** @throws VerificationError also where it is missing */
    public function require(string $name): string
    {
        $value = $this->read($name);
        if ($value === null || $value === '') {
            throw VerificationError::missingHeader(
                $name,
                'is missing: pass all headers, and check that no proxy removes it',
            );
        }
        return $value;
    }
}
