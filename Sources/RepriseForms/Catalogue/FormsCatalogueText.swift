package import RepriseCore
import RepriseWire

/// A catalogue as it came: its bytes, and the little that the host itself reads in it.
package struct FormsCatalogueText: Hashable, Sendable {
    /// How often something may be shown.
    package struct Cap: Hashable, Sendable {
        package var max: Int64
        package var seconds: Int64
    }

    package let version: String
    package let bytes: [UInt8]
    /// For all forms together.
    package let overall: Cap?
    /// The forms that there are, each with its own cap.
    package let forms: [String: Cap?]

    /// The longest time over which anything is counted.
    package var longest: Duration {
        let caps = [overall].compactMap { $0 } + forms.values.compactMap { $0 }
        return .seconds(caps.map(\.seconds).max() ?? 0)
    }

    /// Reads a catalogue.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.malformed`.
    package init(_ bytes: [UInt8]) throws {
        guard bytes.count <= FormsLimits.catalogue else {
            throw RepriseError(
                .tooLarge,
                "A catalogue has at most \(FormsLimits.catalogue) bytes, not \(bytes.count).")
        }
        (version, overall, forms) = try JSONMembers.read(bytes) { members in
            let format = try members.string("format")
            guard format == "forms/1" else {
                throw RepriseError(
                    .malformed, "The catalogue has the format \(format), and this is for forms/1.")
            }
            var forms: [String: Cap?] = [:]
            for form in try members.objects("forms", limit: 2_000) {
                forms[try form.string("id", limit: 64)] = try Cap(form)
            }
            return (try members.string("version", limit: 256), try Cap(members), forms)
        }
        self.bytes = bytes
    }
}

extension FormsCatalogueText.Cap {
    fileprivate init?(_ members: JSONMembers) throws {
        guard members.has("frequency") else { return nil }
        let frequency = try members.members("frequency")
        let day: Int64 = 86_400
        max = try frequency.integer("max")
        // Longer than a hundred years is for ever, and no sum on it overflows.
        seconds = Swift.min(Swift.max(try frequency.integer("seconds"), 0), 36_500 * day)
    }
}
