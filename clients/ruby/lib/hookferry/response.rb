# frozen_string_literal: true

module Hookferry
  # A response to the service. A handler can return one instead of "handled"; the event then counts as not handled.
  Response = Struct.new(:status, :headers, :body) do
    def initialize(status, headers = {}, body = "")
      super(status, headers, body)
    end

    # Gives this event up: the service makes no further attempt.
    def self.abort
      new(422, { "webhook-delivery" => "abort" })
    end

    # Disables the webhook. This event and later ones are held until somebody enables it.
    def self.disable
      new(503, { "webhook-delivery" => "disable" })
    end

    # Has the event sent again, after at least this time. The service waits for 24 hours at most.
    # seconds: a whole number from 1.
    def self.retry_after(seconds)
      unless seconds.is_a?(Integer) && seconds >= 1
        raise ArgumentError, "retry_after takes a whole number of seconds from 1, not #{seconds}."
      end

      new(503, { "retry-after" => seconds.to_s })
    end

    # For Rack.
    def to_rack
      type = body.empty? ? {} : { "content-type" => "text/plain; charset=utf-8" }
      [status, { **type, **headers }, body.empty? ? [] : [body]]
    end
  end
end
