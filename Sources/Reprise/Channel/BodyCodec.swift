import Foundation

/// A body that the app reads and writes as JSON text: see ``RepriseClient/channel(rawJSON:)``.
public struct RawJSON: Hashable, Sendable {
    /// One JSON value, byte for byte as it was published.
    public var text: String

    /// Names the text of one JSON value; it is checked when it is published.
    public init(_ text: String) { self.text = text }
}

/// How the bodies of a channel are written and read.
struct BodyCodec<Body: Sendable>: Sendable {
    let encode: @Sendable (Body) throws -> [UInt8]
    let decode: @Sendable ([UInt8]) throws -> Body
}

extension BodyCodec where Body: Codable {
    init(_ configuration: RepriseConfiguration) {
        let (encoder, decoder) = (configuration.encoder, configuration.decoder)
        encode = { [UInt8](try encoder().encode($0)) }
        decode = { try decoder().decode(Body.self, from: Data($0)) }
    }
}

extension BodyCodec<RawJSON> {
    init() {
        encode = { Array($0.text.utf8) }
        decode = { RawJSON(String(decoding: $0, as: UTF8.self)) }
    }
}
