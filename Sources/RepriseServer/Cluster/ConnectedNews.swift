import RepriseCore
import RepriseWire

/// What gateways tell each other about connected devices, beside the journal, since it may be lost.
///
/// The one that pushes asks the others which devices are connected, and they answer.
package struct ConnectedNews: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case asked([ConnectingDevice])
        /// To the gateway with this session: the places in its list of those that are connected.
        case answered(to: Int64, [Int64])
        /// It ends in good order: no device is connected to it any more, and it answers nothing.
        case ended
    }

    /// The most devices of one message.
    package static let devices = 1_000
    private static let format: UInt8 = 1

    /// The gateway's session.
    package var sender: Int64
    /// The ask's, of the gateway that asks; of an end 0.
    package var number: Int64
    package var content: Content

    package init(from sender: Int64, number: Int64, _ content: Content) {
        (self.sender, self.number, self.content) = (sender, number, content)
    }

    package var bytes: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.format)
        writer.write(sender)
        writer.write(number)
        switch content {
        case .asked(let devices):
            writer.write(UInt8(0))
            writer.write(Int64(devices.count))
            for one in devices {
                writer.write(one.user?.text) { $0.write($1) }
                writer.write(one.device.text)
            }
        case .answered(let asker, let places):
            writer.write(UInt8(1))
            writer.write(asker)
            writer.write(Int64(places.count))
            for place in places { writer.write(place) }
        case .ended: writer.write(UInt8(2))
        }
        return writer.bytes
    }

    /// Nil for what this version does not know.
    package init?(_ bytes: [UInt8]) {
        do {
            var reader = BinaryReader(bytes)
            guard try reader.byte() == Self.format else { return nil }
            sender = try reader.integer()
            number = try reader.integer()
            let count: Int
            switch try reader.byte() {
            case 0:
                let devices = try reader.list { reader in
                    let user = try reader.optional { try UserID($0.text()) }
                    return ConnectingDevice(user: user, device: try EntryID(reader.text()))
                }
                content = .asked(devices)
                count = devices.count
            case 1:
                let asker = try reader.integer()
                let places = try reader.list { try $0.integer() }
                content = .answered(to: asker, places)
                count = places.count
            case 2:
                content = .ended
                count = 0
            default: return nil
            }
            try reader.expectEnd()
            guard count <= Self.devices else { return nil }
        } catch {
            return nil
        }
    }
}
