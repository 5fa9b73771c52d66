public import RepriseCore

/// An event that has happened.
public struct FormsOccurrence: Hashable, Sendable, Identifiable {
    /// The id that it was recorded with.
    public let id: EntryID
    /// The name that it was recorded under, as `opened_push`.
    public let name: String
    /// Its properties: a JSON object as UTF-8.
    public let properties: [UInt8]
    /// When it was recorded, by the device's calendar.
    public let recordedAt: WallTime

    init(_ arrival: FormsArrival) {
        id = arrival.id
        name = arrival.content.name
        properties = arrival.content.properties
        recordedAt = arrival.recordedAt
    }
}
