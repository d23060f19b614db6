# frozen_string_literal: true

require_relative "event_reader"
require_relative "signatures"

module Hookferry
  # Verifies requests, and has their events handled. It does not change, so threads may share it. It is a Rack application.
  class Receiver
    # The longest event is 256 KiB unless the operator of the service allows more.
    MAX_BYTES = 1_310_720
    # Longer than the longest attempt (60 s): by then the service has given up waiting for the response.
    LEASE_SECONDS = 120
    # The service tries again soon, and most handlers have finished by then.
    BUSY_RETRY_SECONDS = 10
    LOG = lambda do |error|
      # Anybody can send requests that can't be verified, so they get one line.
      is_refused = error.is_a?(VerificationError)
      warn "Webhook not handled: #{is_refused ? "#{error.code}: #{error.message}" : error.full_message(highlight: false)}"
    end

    # secret: the webhook's secret as it was issued (whsec_…).
    # secrets: several during a rotation. A signature by any of them is valid.
    # public_keys: of the webhook (whpk_…), for signing "ed25519" or "both". Without a secret only v1a signatures count.
    # tolerance_seconds: the greatest difference of webhook-timestamp from now, in both directions.
    # service_header, service_prefix: the operator's SIGNATURE_HEADER and SIGNATURE_PREFIX.
    # binary_cloud_events: accept CloudEvents whose attributes are headers, which no signature covers.
    # dedupe: stores the ids of handled events, so that an event that arrives twice is handled once: see MemoryStore.
    # lease_seconds: the longest time that a handler takes.
    # in_order: leave the events of a batch after one that failed unhandled, for "ordering": "strict".
    # max_bytes: the longest accepted body.
    # on_error: gets the cause of each webhook that was not handled.
    # clock: gives the present in seconds since the Unix epoch.
    # The block handles an event. When it returns, the event is handled. When it raises, the service sends the event again.
    # It can return a Response to tell the service something else.
    #
    # @raise VerificationError :missing_secret, :not_a_secret or :not_a_key
    def initialize(secret: nil, secrets: nil, public_keys: [], tolerance_seconds: 300,
                   service_header: "X-Service-Signature", service_prefix: "sha256=", binary_cloud_events: false,
                   dedupe: nil, lease_seconds: LEASE_SECONDS, in_order: false, max_bytes: MAX_BYTES,
                   on_error: LOG, clock: -> { Time.now.to_i }, &handle)
      @signatures = Signatures.new(
        secrets: secrets || (secret.nil? && public_keys.any? ? [] : [secret]), public_keys: public_keys,
        tolerance: tolerance_seconds, service_header: service_header, service_prefix: service_prefix
      )
      @binary_cloud_events = binary_cloud_events
      @dedupe = dedupe
      @lease_seconds = lease_seconds
      @in_order = in_order
      @max_bytes = max_bytes
      @on_error = on_error
      @clock = clock
      @handle = handle
    end

    # Verifies a request, and returns its event. If there is a webhook-signature, it is verified by Standard Webhooks.
    # Otherwise X-Service-Signature is verified.
    #
    # body: as it arrived. headers: all of them, a Hash or the environment of Rack.
    # @return [Event]
    # @raise VerificationError respond with 401; :invalid_payload also for a request with several events
    def verify(body, headers)
      request = verify_events(body, headers)
      raise VerificationError.invalid_payload("is a list: read it by verify_events") if request.batch?

      request.events.first
    end

    # Like verify, for a webhook with "batch": returns all events of a request.
    # @return [VerifiedRequest]
    def verify_events(body, headers)
      signed = verify_signature(body, headers)
      EventReader.new(Headers.new(headers), signed, @binary_cloud_events).read(body)
    end

    # Like verify, but does not read the body.
    # @return [Signed] id and timestamp
    def verify_signature(body, headers)
      @signatures.verify(body.b, Headers.new(headers), @clock.call)
    end

    # A Rack application.
    def call(env)
      return [405, { "allow" => "POST" }, []] unless env["REQUEST_METHOD"] == "POST"

      # One byte more than allowed shows that there are too many.
      body = env["rack.input"]&.read(@max_bytes + 1) || ""
      type = env["CONTENT_TYPE"]
      headers = env.select { |name, _| name.start_with?("HTTP_") }
      headers["content-type"] = type if type
      receive(body, headers).to_rack
    end

    # Verifies a request, answers the service's challenge or has each event handled, and never raises a StandardError.
    # @return [Response]
    def receive(body, headers)
      return Response.new(413, {}, "The body has more than #{@max_bytes} bytes.\n") if body.bytesize > @max_bytes

      request = verify_events(body, headers)
      return handle_each(request.events) if request.batch?

      event = request.events.first
      # The service wants it before it sends events. Its signature was verified before.
      challenge = event.data["challenge"] if event.type == "webhook.verification" && event.data.is_a?(Hash)
      challenge.is_a?(String) ? json({ challenge: challenge }) : handle_once(event)
    rescue VerificationError => error
      @on_error.call(error)
      Response.new(401, {}, "#{error.code}: #{error.message}\n")
    end

    private

    def handle_once(event)
      return response_of(@handle.call(event)) if @dedupe.nil? || event.id.nil?

      lease_ends_at = @clock.call + @lease_seconds
      case @dedupe.claim(event.id, @lease_seconds)
      when :done then Response.new(204)
      when :busy then Response.new(409, { "retry-after" => BUSY_RETRY_SECONDS.to_s }, "This event is being handled right now.\n")
      else handle_claimed(event, lease_ends_at)
      end
    rescue StandardError => error
      @on_error.call(error)
      Response.new(500, {}, "The webhook could not be handled: the log of the receiver says why.\n")
    end

    def handle_claimed(event, lease_ends_at)
      response = response_of(@handle.call(event))
    ensure
      settle(event.id, !response.nil? && response.status < 300, lease_ends_at)
    end

    # A failure of the store does not change the result of the event: the lease ends by itself.
    def settle(id, is_handled, lease_ends_at)
      if is_handled
        @dedupe.commit(id)
      elsif @clock.call < lease_ends_at # After it, the claim may belong to another process.
        @dedupe.release(id)
      end
    rescue StandardError => error
      @on_error.call(error)
    end

    # One response for all events, which names those that failed.
    def handle_each(events)
      refusals = []
      failed = events.select do |event|
        former = refusals.first if @in_order
        response = former || handle_once(event)
        refusals << response if response.status > 299
        response.status > 299
      end
      return Response.new(204) if failed.empty?
      return refuse_all(refusals) if failed.length == events.length

      # A single event of a batch cannot be aborted: "abort" counts as a failure.
      json({ failed: failed.map(&:id) }, wishes_of(refusals))
    end

    # No event was handled: respond with an error status, so that the service treats the receiver as failing.
    def refuse_all(refusals)
      first = refusals.first
      same = refusals.map { |each| [each.status, each.headers["webhook-delivery"]] }.uniq.one?
      wishes = wishes_of(refusals)
      same ? Response.new(first.status, { **first.headers, **wishes }, first.body) : Response.new(500, wishes)
    end

    # The wishes of single events that apply to the whole webhook: to disable it, and how long to wait.
    def wishes_of(refusals)
      wishes = {}
      wishes["webhook-delivery"] = "disable" if refusals.any? { |each| each.headers["webhook-delivery"] == "disable" }
      longest = refusals.map { |each| each.headers["retry-after"].to_i }.max
      wishes["retry-after"] = longest.to_s if longest.positive?
      wishes
    end

    def response_of(result)
      result.is_a?(Response) ? result : Response.new(204)
    end

    def json(content, headers = {})
      Response.new(200, { **headers, "content-type" => "application/json" }, JSON.generate(content))
    end
  end
end
