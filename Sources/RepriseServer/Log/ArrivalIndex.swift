import Synchronization

/// Where a channel's messages lie in the tables of `Arrivals`.
///
/// The writer changes it within its transactions, so that for a reader's snapshot it may be ahead
/// or behind: a reader checks each row that it finds through it, and searches the tables for what
/// is missing.
final class ArrivalIndex: Sendable {
    struct Place: Sendable {
        let seq: Int64
        let row: Int64
        let table: Arrivals.Table
    }

    /// By channel, in order.
    private let places = Mutex<[Int64: [Place]]>([:])

    subscript(channel: Int64) -> [Place] { places.withLock { $0[channel] } ?? [] }

    func append(_ place: Place, of channel: Int64) {
        places.withLock { $0[channel, default: []].append(place) }
    }

    func replace(_ all: [Int64: [Place]]) { places.withLock { $0 = all } }

    func remove(_ table: Arrivals.Table) {
        places.withLock { places in
            places = places.compactMapValues { found in
                let kept = found.filter { $0.table != table }
                return kept.isEmpty ? nil : kept
            }
        }
    }

    func channels(_ isWanted: ([Place]) -> Bool) -> [Int64] {
        places.withLock { $0.compactMap { isWanted($0.value) ? $0.key : nil } }
    }

    func places(of channel: Int64, behind seq: Int64) -> ArraySlice<Place> {
        let places = self[channel]
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].seq > seq { high = middle } else { low = middle + 1 }
        }
        return places[low...]
    }

    func place(of seq: Int64, in channel: Int64) -> Place? {
        guard let place = places(of: channel, behind: seq - 1).first, place.seq == seq else {
            return nil
        }
        return place
    }
}
