import RepriseCore

/// The members of one JSON object from an untrusted source; no content traps.
package struct JSONMembers {
    private let scanner: JSONScanner
    private var values: [String: JSONScanner.Value] = [:]

    /// The most members that are read; no message and no part of one has more.
    private static let limit = 64

    /// Reads one object and nothing after it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package static func read<T>(_ text: [UInt8], _ body: (JSONMembers) throws -> T) throws -> T {
        try text.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            let members = try JSONMembers(&scanner)
            try scanner.end()
            return try body(members)
        }
    }

    package init(_ scanner: inout JSONScanner) throws {
        let before = scanner
        self.scanner = scanner
        var values: [String: JSONScanner.Value] = [:]
        try scanner.object { key, value in
            guard values.count < Self.limit else { throw before.malformed("too many members") }
            values[try before.string(key)] = value
        }
        self.values = values
    }

    package func has(_ key: String) -> Bool { values[key] != nil }

    /// Whether it is absent, or null.
    package func lacks(_ key: String) -> Bool {
        guard let value = values[key] else { return true }
        return value.kind == .literal && scanner.raw(value).elementsEqual("null".utf8)
    }

    package func bool(_ key: String) throws -> Bool {
        let text = scanner.raw(try value(key, .literal))
        if text.elementsEqual("true".utf8) { return true }
        guard text.elementsEqual("false".utf8) else { throw scanner.malformed("\(key) is null") }
        return false
    }

    package func string(_ key: String, limit: Int = 4_096) throws -> String {
        let value = try value(key, .string)
        guard value.range.count <= limit + 2 else { throw scanner.malformed("\(key) is too long") }
        return try scanner.string(value)
    }

    /// nil if it is absent, or null.
    package func stringIfAny(_ key: String) throws -> String? {
        guard let value = values[key], value.kind != .literal else { return nil }
        return try string(key)
    }

    package func integer(_ key: String) throws -> Int64 {
        try scanner.integer(try value(key, .number))
    }

    package func integers(_ key: String) throws -> [Int64] {
        var found: [Int64] = []
        var inner = scanner.at(try value(key, .array))
        try inner.array { value in
            guard found.count < Self.limit else { throw scanner.malformed("\(key) is too long") }
            found.append(try scanner.integer(value))
        }
        return found
    }

    package func strings(_ key: String, limit: Int) throws -> [String] {
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

    /// The text of an object, unchanged.
    package func object(_ key: String) throws -> [UInt8] {
        Array(scanner.raw(try value(key, .object)))
    }

    package func members(_ key: String) throws -> JSONMembers {
        var inner = scanner.at(try value(key, .object))
        return try JSONMembers(&inner)
    }

    package func objects(_ key: String, limit: Int) throws -> [JSONMembers] {
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
