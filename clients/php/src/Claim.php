<?php

declare(strict_types=1);

namespace Hookferry;

/** The state of an id in a DedupeStore. */
enum Claim
{
    /** Handle the event now. */
    case Claimed;
    /** Another one handles it. */
    case Busy;
    /** It was handled. */
    case Done;
}
