"""Create the orders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Creates the table of orders."""

    initial = True
    dependencies = ()
    operations = (
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.IntegerField(unique=True)),
                ("receipt", models.TextField(default="")),
            ],
        ),
    )
