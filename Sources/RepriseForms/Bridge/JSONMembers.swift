import RepriseCore
import RepriseWire

/// The members of one JSON object that somebody else wrote; nothing in it can trap.
struct JSONMembers {
    private let scanner: JSONScanner
    private var values: [String: JSONScanner.Value] = [:]

    /// The most members that are looked at; no message and no part of one has more.
    private static let limit = 64

    /// Reads one object and nothing after it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    static func read<T>(_ text: [UInt8], _ body: (JSONMembers) throws -> T) throws -> T {
        try text.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            let members = try JSONMembers(&scanner)
            try scanner.end()
            return try body(members)
        }
    }

    init(_ scanner: inout JSONScanner) throws {
        let before = scanner
        self.scanner = scanner
        var values: [String: JSONScanner.Value] = [:]
        try scanner.object { key, value in
            guard values.count < Self.limit else { throw before.malformed("too many members") }
            values[try before.string(key)] = value
        }
        self.values = values
    }

    func has(_ key: String) -> Bool { values[key] != nil }

    func string(_ key: String, limit: Int = 4_096) throws -> String {
        let value = try value(key, .string)
        guard value.range.count <= limit + 2 else { throw scanner.malformed("\(key) is too long") }
        return try scanner.string(value)
    }

    /// nil if it is not there, or null.
    func stringIfAny(_ key: String) throws -> String? {
        guard let value = values[key], value.kind != .literal else { return nil }
        return try string(key)
    }

    func integer(_ key: String) throws -> Int64 { try scanner.integer(try value(key, .number)) }

    func integers(_ key: String) throws -> [Int64] {
        var found: [Int64] = []
        var inner = scanner.at(try value(key, .array))
        try inner.array { value in
            guard found.count < Self.limit else { throw scanner.malformed("\(key) is too long") }
            found.append(try scanner.integer(value))
        }
        return found
    }

    func strings(_ key: String, limit: Int) throws -> [String] {
        var found: [String] = []
        var inner = scanner.at(try value(key, .array))
        try inner.array { value in
            guard found.count < limit, value.kind == .string else {
                throw scanner.malformed("\(key) is not what it should be")
            }
            found.append(try scanner.string(value))
        }
        return found
    }

    /// The text of an object as it stands.
    func object(_ key: String) throws -> [UInt8] {
        Array(scanner.raw(try value(key, .object)))
    }

    func members(_ key: String) throws -> JSONMembers {
        var inner = scanner.at(try value(key, .object))
        return try JSONMembers(&inner)
    }

    func objects(_ key: String, limit: Int) throws -> [JSONMembers] {
        var found: [JSONMembers] = []
        var inner = scanner.at(try value(key, .array))
        try inner.array { value in
            guard found.count < limit, value.kind == .object else {
                throw scanner.malformed("\(key) is not what it should be")
            }
            var element = scanner.at(value)
            found.append(try JSONMembers(&element))
        }
        return found
    }

    private func value(_ key: String, _ kind: JSONScanner.Value.Kind) throws -> JSONScanner.Value {
        guard let value = values[key], value.kind == kind else {
            throw scanner.malformed("\(key) is missing or not what it should be")
        }
        return value
    }
}
