/// The channels' part of a transaction. (Branch `device` writes it.)
package protocol ChannelsTransaction: AnyObject {}

/// The channels' tables in the model of the store. (Branch `device` writes it.)
package struct ChannelsModel {
    package init() {}
}

extension ModelTransaction: ChannelsTransaction {}
extension GRDBTransaction: ChannelsTransaction {}
extension ComparedTransaction: ChannelsTransaction {}
