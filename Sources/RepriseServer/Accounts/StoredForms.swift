import Foundation
import GRDB
package import RepriseCore
import RepriseWire

/// A stored catalogue of forms.
package struct StoredForms: Hashable, Sendable {
    /// Its author's name for it.
    package let version: String
    /// Identifies these bytes alone, as an entity tag does (RFC 9110 §8.8.3), with its quotes.
    package let tag: String
    /// The bytes as received.
    package let bytes: [UInt8]
    /// When it became the current one.
    package let time: WallTime

    init(version: String, bytes: [UInt8], time: WallTime) {
        self.version = version
        self.bytes = bytes
        self.time = time
        // One version has one content, so the hash need not be collision-resistant.
        let hash = EntryID.hash(of: String(decoding: bytes, as: UTF8.self), prefix: "")
        tag = "\"\(version)-\(hash.text)\""
    }

    init(row: Row) throws {
        version = try row.checked("version")
        tag = try row.checked("tag")
        bytes = Array(try row.checked("bytes") as Data)
        time = WallTime(milliseconds: try row.checked("time"))
    }
}

/// The result of pushing a catalogue.
package enum StoredFormsChange: Hashable, Sendable {
    /// The company's first catalogue.
    case created(StoredForms)
    /// It replaces another, or is an earlier one again.
    case replaced(StoredForms)
    /// It is already the current one.
    case unchanged(StoredForms)

    /// The current catalogue.
    package var current: StoredForms {
        switch self {
        case .created(let forms), .replaced(let forms), .unchanged(let forms): forms
        }
    }
}
