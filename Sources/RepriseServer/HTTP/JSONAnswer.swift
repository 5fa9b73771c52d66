import Foundation
import HTTPTypes
import Hummingbird

extension Response {
    // Sorted, so that equal answers are equal bytes.
    private static let encoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }()

    /// A response whose body is a value as JSON.
    init(
        _ answer: some Encodable, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) throws {
        self.init(json: try Self.json(answer), status: status, headers: headers)
    }

    /// The JSON text of an answer.
    static func json(_ answer: some Encodable) throws -> [UInt8] {
        try [UInt8](encoder.encode(answer))
    }
}
