Quotas can choose claims by their class of volume attributes: scope `VolumeAttributesClass`.
