"""What runs below the driver, in Blender's own interpreter: standard library only, one file a layer.

The folder is put on the path by itself and imported as the package ``jail``, so it imports nothing else of Climbable.
"""
