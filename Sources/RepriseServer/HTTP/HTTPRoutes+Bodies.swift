import Foundation
import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

extension HTTPRoutes {
    /// Answers a request whose body is one JSON object that has no fields but these.
    ///
    /// `type` is one that it may have beside JSON's. `empty` is the meaning of a missing body;
    /// nil refuses it. `check` throws for unauthorized callers before the body is read; `read`
    /// takes its values from the object, and `answer` acts.
    func withObject<Value>(
        _ call: HTTPRouteCall, only fields: [StaticString], type: String? = nil,
        empty: Value? = nil, check: () async throws -> Void = {}, read: (Envelope) throws -> Value,
        _ answer: (Value) async throws -> Response
    ) async throws -> Response {
        try await reading(call.request, limits.objectBytes, limits.messageTime) { body in
            try await check()
            try Self.checkType(call.request, or: type, isOptional: empty != nil)
            let bytes = try await body.all()
            if bytes.isEmpty, let empty { return try await answer(empty) }
            let value = try bytes.withUnsafeBufferPointer { bytes in
                let object = try Envelope(bytes)
                try object.expect(only: fields)
                return try read(object)
            }
            return try await answer(value)
        }
    }

    static func checkType(
        _ request: Request, or other: String? = nil, isOptional: Bool
    ) throws {
        let type = try contentType(of: request)
        guard type == "application/json" || type == other || isOptional && type.isEmpty else {
            throw HTTPFailure.unsupportedMediaType("Send application/json.")
        }
    }

    /// The content type without its parameters; empty if there is none.
    static func contentType(of request: Request) throws -> String {
        guard request.headers[.contentEncoding] ?? "identity" == "identity" else {
            throw HTTPFailure.unsupportedMediaType("Send the body uncompressed.")
        }
        let type = request.headers[.contentType]?.split(separator: ";").first ?? ""
        return type.trimmingCharacters(in: .whitespaces).lowercased()
    }

    /// Reads a body within limits; a sender far beyond them is answered, then the connection ends.
    func reading(
        _ request: Request, _ byteLimit: Int, _ time: Duration,
        _ answer: (inout BodyReader) async throws -> Response
    ) async throws -> Response {
        var body = BodyReader(request, byteLimit: byteLimit, time: time)
        let response: Response
        do {
            try body.checkLength(request)
            response = try await answer(&body)
        } catch let error as RepriseError {
            response = HTTPFailure(error).response
        } catch let failure as HTTPFailure {
            response = failure.response
        }
        if body.isAtEnd { return response }
        // A client cut short by the server's end may have sent everything, and reads only then.
        let discarded = body.isCutShort ? byteLimit : limits.discardedBytes
        return response.endingConnection(with: body.pieces, discarding: discarded)
    }
}

extension Envelope {
    /// A text of at most `bytes` bytes; nil if it is missing.
    func text(_ name: StaticString, atMost bytes: Int) throws -> String? {
        guard optional(name) != nil else { return nil }
        let text = try string(name)
        guard text.utf8.count <= bytes else {
            throw RepriseError(.malformed, "\(name) has at most \(bytes) bytes.")
        }
        // SQLite would end the text at a NUL.
        guard !text.utf8.contains(0) else {
            throw RepriseError(.malformed, "\(name) has a character U+0000.")
        }
        return text
    }

    /// A value of an enumeration; nil if it is missing.
    func word<Word: RawRepresentable & CaseIterable>(_ name: StaticString) throws -> Word?
    where Word.RawValue == String {
        guard optional(name) != nil else { return nil }
        guard let word = Word(rawValue: try string(name)) else {
            let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw RepriseError(.malformed, "\(name) is one of: \(words).")
        }
        return word
    }

    /// A whole number; nil if it is missing.
    func number(_ name: StaticString, in range: ClosedRange<Int64>) throws -> Int64? {
        guard optional(name) != nil else { return nil }
        let value = try sequence(name)
        guard range.contains(value) else {
            throw RepriseError(
                .malformed,
                "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }
}
