# frozen_string_literal: true

require "json"

module Hookferry
  # A verified event, whichever format its request had.
  #
  # id: the same on every attempt. nil only with X-Service-Signature alone, which covers no header.
  # timestamp: when its request was signed, in whole seconds since the Unix epoch.
  # data: as JSON.parse gives it.
  # accepted_at: when the service accepted it (RFC 3339). The format "native" does not have it.
  # cloud_event: all attributes, if it came as a CloudEvent.
  Event = Struct.new(:id, :timestamp, :type, :data, :accepted_at, :cloud_event, keyword_init: true)

  # The content of a verified request.
  #
  # events: in the order in which the service accepted them.
  # batch: whether the request is a list, also of one event. A 2xx then accepts all its events. With the body
  #   {"failed": [ids]} it accepts all others.
  VerifiedRequest = Struct.new(:events, :batch) do
    alias_method :batch?, :batch
  end

  # @api private
  # Reads the events of a request whose signature is valid.
  class EventReader
    # In the order of the specification. Names of extensions can't be found in all kinds of headers.
    ATTRIBUTES = %w[specversion id source type time subject dataschema partitionkey].freeze

    def initialize(headers, signed, takes_binary)
      @headers = headers
      @signed = signed
      @takes_binary = takes_binary
    end

    # The body says which format it has, and no header does: no signature covers headers.
    # @return [VerifiedRequest]
    # @raise VerificationError :invalid_payload
    def read(body)
      text = text_of(body)
      return one(binary_event(text)) if @headers.read("ce-specversion")

      payload = parse(text)
      return several(payload) { |item| cloud_event(item) } if payload.is_a?(Array)
      raise invalid("is not an object") unless payload.is_a?(Hash)
      return one(cloud_event(payload)) if payload.key?("specversion")

      native(payload)
    end

    private

    def native(payload)
      type, data = payload.values_at("type", "data")
      raise invalid('has no "type" and "data"') unless type.is_a?(String) && payload.key?("data")
      # No event has this type: each has a dot.
      return several(data) { |item| batch_item(item) } if type == "batch" && data.is_a?(Array)

      one(Event.new(id: @signed.id, timestamp: @signed.timestamp, type: type, data: data))
    end

    def one(event)
      VerifiedRequest.new([event], false)
    end

    def several(items, &read)
      VerifiedRequest.new(items.map(&read), true)
    end

    def batch_item(item)
      raise invalid("has an item that is not an object") unless item.is_a?(Hash)

      id, type, accepted_at = item.values_at("id", "type", "timestamp")
      unless [id, type, accepted_at].all?(String)
        raise invalid('has an item without "id", "type" or "timestamp"')
      end

      Event.new(id: id, timestamp: @signed.timestamp, type: type, data: item["data"], accepted_at: accepted_at)
    end

    # One that is a JSON object. Its id is in the body, which is signed.
    def cloud_event(item)
      raise invalid("has an item that is not a CloudEvent") unless item.is_a?(Hash)

      event_of(item.reject { |name, _| name == "data" }, item["id"], item["data"])
    end

    # One whose attributes are headers. Its id is that of the request, which is signed.
    def binary_event(text)
      raise invalid("comes with attributes as headers, and binary_cloud_events is not set") unless @takes_binary

      content_type = @headers.read("content-type") || "application/json"
      data = content_type.match?(%r{\A[^;]*[/+]json\b}i) ? parse(text) : text
      attributes = { "datacontenttype" => content_type }
      ATTRIBUTES.each do |name|
        value = @headers.read("ce-#{name}")
        attributes[name] = percent_decoded(value) if value
      end
      if @signed.id && attributes["id"] != @signed.id
        raise invalid('comes with a "ce-id" that is not the id that was signed')
      end

      event_of(attributes, @signed.id, data)
    end

    def event_of(attributes, id, data)
      required = attributes.values_at("id", "source", "type")
      unless attributes["specversion"] == "1.0" && required.all? { |text| text.is_a?(String) && !text.empty? }
        raise invalid("is not a CloudEvent 1.0")
      end

      time = attributes["time"]
      Event.new(id: id, timestamp: @signed.timestamp, type: attributes["type"], data: data,
                accepted_at: time.is_a?(String) ? time : nil, cloud_event: attributes)
    end

    # As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
    def percent_decoded(value)
      return value if value.match?(/%(?![0-9a-f]{2})/i)

      decoded = value.b.gsub(/%([0-9a-f]{2})/in) { Regexp.last_match(1).hex.chr }.force_encoding(Encoding::UTF_8)
      decoded.valid_encoding? ? decoded : value
    end

    def text_of(body)
      text = body.dup.force_encoding(Encoding::UTF_8)
      raise invalid("is not UTF-8") unless text.valid_encoding?

      text.delete_prefix("\uFEFF")
    end

    def parse(text)
      # Not the defaults of the program, which it may have changed.
      JSON.parse(text, create_additions: false, allow_nan: false, max_nesting: 512)
    rescue JSON::ParserError
      raise invalid("is not JSON")
    end

    def invalid(what)
      VerificationError.invalid_payload(what)
    end
  end
end
